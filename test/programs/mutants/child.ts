/**
 * Every Node process that a test starts loads this first. It then runs the test's sources, and reports the blocks that it enters.
 */
import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { preloadInChildren } from "./children.ts";
import { REACH } from "./reach.ts";

/** More than a process of any test enters. */
const MOST_ENTRIES = 10_000_000;

const { searchParams } = new URL(import.meta.url);
const sources = searchParams.get("sources")!;
// Open it at the start, because a process may run out of file descriptors.
const report = searchParams.has("report") ? openSync(searchParams.get("report")!, "a") : undefined;
const told = new Set<number>();
let entries = 0;

Object.assign(globalThis, {
  [REACH]: (block: number) => {
    entries += 1;
    if (entries > MOST_ENTRIES) process.kill(process.pid, "SIGKILL");
    if (report === undefined || told.has(block)) return;
    told.add(block);
    writeSync(report, `${block}\n`);
  },
});

registerHooks({
  load(url, context, next) {
    const path = url.startsWith("file:") ? `${sources}${fileURLToPath(url)}` : undefined;
    if (path === undefined || !existsSync(path)) return next(url, context);
    return { format: "module-typescript", source: readFileSync(path), shortCircuit: true };
  },
});

preloadInChildren(import.meta.url);
