/** `npm run coming-from -- [lock ...]`: breaks other locks, and Leasehold in the same way. Without a name it breaks all. */
import { BREAKS } from "./breaks.ts";

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(BREAKS, name));
if (unknown === undefined) {
  for (const name of names.length > 0 ? names : Object.keys(BREAKS)) {
    const { how, counts, missing, play } = BREAKS[name]!;
    const why = await missing();
    if (why !== undefined) {
      process.stdout.write(`${name}: not broken here. ${why}\n`);
      continue;
    }
    const { theirs, ours } = await play();
    process.stdout.write(`${name}: ${how}\n  ${counts}: ${name} ${theirs}, Leasehold ${ours}\n`);
    if (theirs !== 2 || ours !== 1) process.exitCode = 1;
  }
} else {
  process.stderr.write(`There is no lock '${unknown}'. There are: ${Object.keys(BREAKS).join(", ")}.\n`);
  process.exitCode = 2;
}
// A client of another library may keep this process alive.
process.exit();
