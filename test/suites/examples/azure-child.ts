import { pathToFileURL } from "node:url";
import { invoke, timerPayload } from "../platforms/azure-worker.ts";

// A process in place of Azure's worker: it loads a module and invokes one of its functions, once, as a timer does.
const [file = "", name = ""] = process.argv.slice(2);
await import(pathToFileURL(file).href);
console.log(JSON.stringify(await invoke(name, timerPayload("2026-11-20T10:00:00+00:00"))));
