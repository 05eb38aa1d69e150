import { pathToFileURL } from "node:url";
import { invoke, timerPayload } from "../platforms/azure-worker.ts";
import { DUE } from "../platforms/due.ts";

/*
 * A process that replaces Azure's worker. It loads a module and invokes one of its functions once, like a timer. With "dies" the
 * process is killed at the first line that the function logs.
 */
const [file = "", name = "", end] = process.argv.slice(2);
const kill = (): void => void process.kill(process.pid, "SIGKILL");
await import(pathToFileURL(file).href);
console.log(JSON.stringify(await invoke(name, timerPayload(DUE), end === "dies" ? kill : undefined)));
