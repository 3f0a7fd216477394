// SPDX-License-Identifier: GPL-3.0-or-later
// What Flamenco's manager has for a job type: `author`, `frameChunker` and `print`. Prints the tasks of a job as JSON.
const fs = require("fs");
const vm = require("vm");

function frameChunker(frames, size) {
    const all = frames.split(",").flatMap((part) => {
        const [first, last] = part.trim().split("-").map(Number);
        return Array.from({ length: (last === undefined ? first : last) - first + 1 }, (_, index) => first + index);
    });
    const chunks = [];
    for (let begin = 0; begin < all.length; begin += size) {
        const chunk = all.slice(begin, begin + size);
        chunks.push(chunk.length > 1 ? `${chunk[0]}-${chunk[chunk.length - 1]}` : `${chunk[0]}`);
    }
    return chunks;
}

class Task {
    constructor(name, type) {
        Object.assign(this, { name, type, commands: [], dependencies: [] });
    }
    addCommand(command) {
        this.commands.push(command);
    }
    addDependency(task) {
        this.dependencies.push(task.name);
    }
}

const author = {
    Task: (name, type) => new Task(name, type),
    Command: (name, parameters) => ({ name, parameters }),
};
const [script, settings] = process.argv.slice(2);
const context = vm.createContext({ author, frameChunker, print: () => undefined });
vm.runInContext(fs.readFileSync(script, "utf-8") + "\nthis.JOB_TYPE = JOB_TYPE; this.compileJob = compileJob;", context);
const tasks = [];
context.compileJob({ name: "shot", settings: JSON.parse(settings), addTask: (task) => tasks.push(task) });
console.log(JSON.stringify({ settings: context.JOB_TYPE.settings, tasks }));
