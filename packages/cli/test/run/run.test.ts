/** Runs `leasehold run` as a process once, to check that its parts fit. The long tests, which take minutes, check the rest. */
import { expect, test } from "vitest";
import { Stage } from "./wrapper.ts";

test("a command's environment has its term, and its exit code is the wrapper's", async () => {
  await using stage = new Stage();
  const { code, stdout, stderr } = await stage.run({
    command: [
      "sh",
      "-c",
      'echo "$LEASEHOLD_ELECTION:$LEASEHOLD_TERM:$LEASEHOLD_CANDIDATE_ID:$1:$2"; exit 42',
      "sh",
      "a  b",
      "--wait",
    ],
    args: ["--id", "one"],
  });
  expect([code, stdout]).toEqual([42, "e:1:one:a  b:--wait\n"]);
  expect(stderr).toBe(
    "leasehold: leading 'e' in term 1, running sh; without a renewal it gets SIGTERM after 10.0 s and SIGKILL after 13.2 s.\n",
  );
});
