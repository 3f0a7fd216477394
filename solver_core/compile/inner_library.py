# SPDX-License-Identifier: GPL-3.0-or-later
"""Compilation of kernels that only other kernels call ("inner kernels").

By default, numba optimizes each kernel together with everything it calls, and generates machine code for it. The callers then
link in its LLVM code, optimize it again as part of themselves, and generate machine code again. Each level of calls therefore
pays for all levels below. Compilation of an inner kernel stops at the LLVM code that callers link in. It is optimized within
each kernel that Python calls.

numba writes the addresses of kernels' environments into the machine code of kernels that it compiles or loads from the cache.
The machine code of an inner kernel, in memory and in the cache, is therefore that of a module that contains only these
environment pointers.
"""

from __future__ import annotations

from llvmlite import binding as llvm
from numba.core.codegen import JITCodeLibrary, _parse_refprune_flags
from numba.core.compiler import Compiler

__all__ = ["InnerCompiler"]

# prefix of the mangled names of environment pointers in numba
ENVIRONMENT = "_ZN08NumbaEnv"


class InnerLibrary(JITCodeLibrary):
    """The code of an inner kernel and of everything it calls, for linking into its callers."""

    def _optimize_functions(self, ll_module) -> None:
        """Simplify the functions of a module.

        The callers optimize them fully. Without any passes here the code is so large that this takes four times as long. With
        all of numba's, each function is optimized fully here and once more there.
        """
        ll_module.data_layout = self._codegen._data_layout
        builder, passes = self._codegen._pass_builder(), llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_refprune_pass(llvm.RefPruneSubpasses(_parse_refprune_flags()))
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Do nothing, because the callers optimize this code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        whole = self._final_module
        for function in whole.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                # A module may contain several callers of one kernel.
                function.linkage = "linkonce_odr"
        self._shared_module = whole
        environments = [variable.name for variable in whole.global_variables if variable.name.startswith(ENVIRONMENT)]
        places = [f'@"{name}" = common global ptr null' for name in environments]
        self._final_module = llvm.parse_assembly("\n".join([str(self._codegen._create_empty_module(self.name)), *places]))
        super()._finalize_final_module()


class InnerCompiler(Compiler):
    """The compiler of numba with an `InnerLibrary` for the code, for use as `pipeline_class`."""

    def define_pipelines(self):
        library = InnerLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        self.state.library = library
        return super().define_pipelines()
