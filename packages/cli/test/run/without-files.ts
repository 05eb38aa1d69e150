// Searches for the processes of a term while it can open no more files. Then it ends the group of the given leader. With a second
// argument it has searched before, as a wrapper does at the command's start. Its exit code is 0 if `isGone` is true only then.
import { openSync } from "node:fs";
import { endGroup, isGone } from "../../src/run/group.ts";

const termId = "a-term-of-nobody";
const hasSearched = process.argv[3] !== undefined;
const wasGone = !hasSearched || isGone({ termId });
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  endGroup({ termId, leader: { pid: Number(process.argv[2]) } }, "SIGTERM");
  process.exit(wasGone && isGone({ termId }) === hasSearched ? 0 : 1);
}
