/** Preloaded into a process that runs a mutant. Changes the sources while they are loaded, and nothing on the disk. */
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { MUTANTS } from "./mutants.ts";

const root = new URL("../../../../", import.meta.url);
const mutant = MUTANTS.find(({ name }) => name === process.env["LEASEHOLD_MUTANT"]);
if (!mutant) throw new Error(`There is no mutant '${process.env["LEASEHOLD_MUTANT"]}'.`);
const left = new Set(mutant.patches);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith(root.href) || !loaded.source) return loaded;
    const file = fileURLToPath(url).slice(fileURLToPath(root).length);
    let source = Buffer.from(loaded.source as Uint8Array).toString();
    for (const patch of mutant.patches) {
      if (patch.file !== file) continue;
      if (source.split(patch.find).length !== 2) throw new Error(`${mutant.name}: what is to be changed is not once in ${file}.`);
      source = source.replace(patch.find, () => patch.replace);
      left.delete(patch);
    }
    return { ...loaded, source };
  },
});

process.on("exit", () => {
  if (left.size > 0) process.exitCode = 70;
});
