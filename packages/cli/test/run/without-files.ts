// Looks for the processes of a term while it can open no file any more, then ends the group whose leader it is told. With a second
// argument it has kept file descriptors for that. Its exit code is 0 if it believes that the processes are gone only where it could look.
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
