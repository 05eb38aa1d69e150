import { expect, test } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

test("timing prints the worst cases of a lease, for people and for programs", async () => {
  const command = new CapturedCommand();
  expect((await command.run("timing", "--lease", "20s")).stdout).toContain(
    "leaseDurationMs     20,000 ms  rivals wait this long",
  );
  const { stdout } = await command.run("timing", "--lease", "20s", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ leaseDurationMs: 20_000, renewDeadlineMs: 40_000 / 3 });
});

test("timing prints the worst cases of a store that is named", async () => {
  const command = new CapturedCommand();
  const own = (await command.run("timing")).stdout;
  command.env["LEASEHOLD_STORE"] = undefined;
  // The store in memory pushes, so a standby does not poll.
  expect((await command.run("timing")).stdout).not.toBe(own);
});
