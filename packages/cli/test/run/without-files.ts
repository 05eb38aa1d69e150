// Searches for the processes of a term while it can open no more files. Then it ends the group of the given leader. With a second
// argument it has reserved file descriptors. Its exit code is 0 if `isGone` is true only with that reserve.
import { openSync } from "node:fs";
import { fillReserve } from "../../src/run/descriptor-reserve.ts";
import { endGroup, isGone } from "../../src/run/group.ts";

const termId = "a-term-of-nobody";
const wasGone = isGone({ termId });
const hasReserve = process.argv[3] !== undefined;
if (hasReserve) fillReserve();
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  endGroup({ termId, leader: { pid: Number(process.argv[2]) } }, "SIGTERM");
  process.exit(wasGone && isGone({ termId }) === hasReserve ? 0 : 1);
}
