/** What the exit codes of run mean to systemd's Restart=on-failure, as its manual says it, with the unit that is documented. */
import { expect, test } from "vitest";
import { EXIT } from "../../src/exit-codes.ts";
import { documentedBlocks } from "../documented.ts";

test("systemd restarts after what a restart can mend, and after nothing else", async () => {
  const [unit = ""] = await documentedBlocks("systemd", "ini");
  const setting = (name: string): readonly string[] => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1]?.split(" ") ?? [];
  expect(setting("Restart")).toEqual(["on-failure"]);
  const restartsAfter = (code: number): boolean =>
    code !== 0 && ![...setting("SuccessExitStatus"), ...setting("RestartPreventExitStatus")].includes(String(code));
  const { leadershipEnded, store, notElected, usage, configuration, notExecutable, notFound, done } = EXIT;
  // 1 is the command's own failure, 137 that of one that was killed; 130 and 143 are stops that were asked for.
  expect([leadershipEnded, store, notElected, 1, 137].map(restartsAfter)).not.toContain(false);
  expect([done, 130, 143, usage, configuration, notExecutable, notFound].map(restartsAfter)).not.toContain(true);
});
