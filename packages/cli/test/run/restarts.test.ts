/** The exit codes of `run` under systemd's Restart=on-failure, by systemd's manual and the documented unit. */
import { expect, test } from "vitest";
import { EXIT } from "../../src/exit-codes.ts";
import { documentedBlocks } from "../documented.ts";

test("systemd restarts only after an end that a restart can correct", async () => {
  const [unit = ""] = await documentedBlocks("systemd", "ini");
  const setting = (name: string): readonly string[] => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1]?.split(" ") ?? [];
  expect(setting("Restart")).toEqual(["on-failure"]);
  const restartsAfter = (code: number): boolean =>
    code !== 0 && ![...setting("SuccessExitStatus"), ...setting("RestartPreventExitStatus")].includes(String(code));
  const { leadershipEnded, store, notElected, usage, configuration, notExecutable, notFound, done } = EXIT;
  // 1 is the command's own failure, and 137 a killed command. 130 and 143 are requested stops.
  expect([leadershipEnded, store, notElected, 1, 137].map(restartsAfter)).not.toContain(false);
  expect([done, 130, 143, usage, configuration, notExecutable, notFound].map(restartsAfter)).not.toContain(true);
});
