import { ConfigurationError } from "@leasehold/core";
import { expect, test } from "vitest";
import { jsonLine, LogFormat, lineMaker } from "../src/log-options.ts";
import { CapturedCommand } from "./captured-command.ts";

/** Runs `watch` through an outage and one term, and returns what it printed to stderr. */
async function watched(...options: readonly string[]): Promise<string> {
  const command = new CapturedCommand();
  const answers = command.failsWith("STORE_UNAVAILABLE");
  const watching = command.start("watch", "billing", ...options);
  await command.untilLoaded();
  await command.clock.advance(5_000);
  answers();
  await command.clock.advance(5_000);
  command.stop.abort();
  return (await watching).stderr;
}

test("--log json prints each message as a JSON object with its time and level", async () => {
  const [line = ""] = (await watched("--log", "json")).split("\n");
  expect(JSON.parse(line)).toMatchObject({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
    level: "warn",
    message: expect.stringContaining("STORE_UNAVAILABLE of old.") as string,
    election: "billing",
  });
});

test("--log json also prints the error that ends the verb", async () => {
  const command = new CapturedCommand();
  command.failsWith("STORE_DENIED");
  const { stderr } = await command.run("watch", "billing", "--log", "json");
  expect(JSON.parse(stderr)).toMatchObject({
    level: "error",
    code: "STORE_DENIED",
    message: "STORE_DENIED of old.",
    exitCode: 69,
  });
});

test("--log json of the command that is run changes nothing", async () => {
  const command = new CapturedCommand();
  command.refusal = new ConfigurationError("It is refused.");
  const { stderr } = await command.run("run", "--election", "billing", "sh", "--log", "json");
  expect(stderr).toBe("leasehold: It is refused.\n");
});

test("--verbose prints what the library tells at its lower levels, too", async () => {
  const [usual, verbose] = [await watched(), await watched("--verbose")];
  expect(verbose.split("\n").length).toBeGreaterThan(usual.split("\n").length);
});

test("an attribute of --log json shows no password, and replaces no field of the line", () => {
  const line = jsonLine(0, "warn", "it fails", { error: "postgres://me:pa55word@db/app is down", level: "info" });
  expect(JSON.parse(line)).toEqual({
    error: "postgres://…@db/app is down",
    time: "1970-01-01T00:00:00.000Z",
    level: "warn",
    message: "it fails",
  });
});

test("a message about the output itself is in the format that the command line asks for", () => {
  const made = (...args: readonly string[]): string => lineMaker(new LogFormat(args), () => 0)("lines were dropped.");
  expect(made("run", "--", "cmd", "--log", "json")).toBe("leasehold: lines were dropped.\n");
  expect(made("run", "--log", "text")).toBe("leasehold: lines were dropped.\n");
  for (const args of [["--log", "json"], ["--log=json"]]) {
    expect(JSON.parse(made("serve", ...args))).toEqual({
      time: "1970-01-01T00:00:00.000Z",
      level: "warn",
      message: "lines were dropped.",
    });
  }
});
