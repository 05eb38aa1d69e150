/** Preloaded into a process that plays a mutant. Changes the sources while they are loaded, and nothing on the disk. */
import { registerHooks } from "node:module";
import { MUTANTS } from "./mutants.ts";

const sources = new URL("../../src/", import.meta.url).href;
const mutant = MUTANTS.find(({ name }) => name === process.env["LEASEHOLD_MUTANT"]);
if (!mutant) throw new Error(`There is no mutant '${process.env["LEASEHOLD_MUTANT"]}'.`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith(sources) || !loaded.source) return loaded;
    const file = url.slice(sources.length);
    let source = Buffer.from(loaded.source as Uint8Array).toString();
    for (const patch of mutant.patches.filter((one) => one.file === file))
      source = source.replace(patch.find, () => patch.replace);
    return { ...loaded, source };
  },
});
