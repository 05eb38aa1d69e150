import { expect, test } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

const URL_OF_A = "voting://a=127.0.0.1:7401?server=a&state=/var/lib/votes";

test("vote runs one of the servers until a stop", async () => {
  const command = new CapturedCommand();
  Object.assign(command.store, { members: () => Array.from({ length: 3 }) });
  const ran = command.start("vote", "--store", URL_OF_A);
  await command.untilLoaded();
  await command.clock.advance(3 * 86_400_000);
  expect(command.stderr).toContain("votes, as one of 3 servers");
  command.stop.abort();
  expect(await ran).toMatchObject({ exitCode: 0 });
  expect(command.opened).toEqual([URL_OF_A]);
});

test("vote names the kind of store that it needs", async () => {
  const ran = await new CapturedCommand().run("vote", "--store", "voting://127.0.0.1:7401");
  expect(ran).toMatchObject({ exitCode: 64 });
  expect(ran.stderr).toContain("vote takes a store of voting: with 'server' and 'state'");
});
