# SPDX-License-Identifier: GPL-3.0-or-later
"""How a kernel that only other kernels call is compiled: as far as these need it.

numba optimises a kernel together with all that it calls and makes machine code of it, although its callers link in its LLVM
code, optimise that once more as a part of themselves, and make machine code of it again: each level of calls pays for all
levels below. An inner kernel stops at the LLVM code that callers link in. It is optimised within each kernel that Python calls.

numba writes the addresses of kernels' environments into the machine code of those it makes, or loads from the cache. So an
inner kernel's machine code, in memory as in the cache, is that of a module which holds nothing but the environments' places.
"""

from __future__ import annotations

from llvmlite import binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["InnerCompiler"]

# of the names of environments' places, as numba mangles them
ENVIRONMENT = "_ZN08NumbaEnv"


class InnerLibrary(JITCodeLibrary):
    """The code of one inner kernel and of all that it calls, to be linked into its callers."""

    def _optimize_final_module(self) -> None:
        """Its callers will."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        whole = self._final_module
        for function in whole.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                # several callers of one may come together in one module
                function.linkage = "linkonce_odr"
        self._shared_module = whole
        environments = [variable.name for variable in whole.global_variables if variable.name.startswith(ENVIRONMENT)]
        places = [f'@"{name}" = common global ptr null' for name in environments]
        self._final_module = llvm.parse_assembly("\n".join([str(self._codegen._create_empty_module(self.name)), *places]))
        super()._finalize_final_module()


class InnerCompiler(Compiler):
    """numba's compiler, with an `InnerLibrary` to put the code into. To be given as `pipeline_class`."""

    def define_pipelines(self):
        library = InnerLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        self.state.library = library
        return super().define_pipelines()
