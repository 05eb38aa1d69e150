// Looks for the processes of a term while it can open no file any more, then ends the group whose leader it is told: its exit code
// is 1 if it believes that they are gone.
import { openSync } from "node:fs";
import { endGroup, isGone } from "../../src/run/group.ts";

const termId = "a-term-of-nobody";
const wasGone = isGone({ termId });
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  endGroup({ termId, leader: { pid: Number(process.argv[2]) } }, "SIGTERM");
  process.exit(wasGone && !isGone({ termId }) ? 0 : 1);
}
