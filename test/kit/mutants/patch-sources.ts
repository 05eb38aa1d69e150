/** Preloaded into a process that runs a mutant. Changes the sources while they are loaded, and nothing on the disk. */
import { registerHooks } from "node:module";
import type { KnownMutant } from "./known-mutants.ts";

const root = new URL("../../../", import.meta.url).href;
const { name, patches } = JSON.parse(process.env["LEASEHOLD_MUTANT"] ?? "") as KnownMutant;
const left = new Set(patches);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith(root) || !loaded.source) return loaded;
    const file = url.slice(root.length);
    let source = Buffer.from(loaded.source as Uint8Array).toString();
    for (const patch of patches) {
      if (patch.file !== file) continue;
      if (source.split(patch.find).length !== 2) throw new Error(`${name}: what is to be changed is not once in ${file}.`);
      source = source.replace(patch.find, () => patch.replace);
      left.delete(patch);
    }
    return { ...loaded, source };
  },
});

process.on("exit", () => {
  if (left.size > 0) process.exitCode = 70;
});
