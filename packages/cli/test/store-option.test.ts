import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

test("the option and the file have priority over the variable", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  try {
    const file = join(folder, "url");
    await writeFile(file, "mysql://me:pa55@host/db\n");
    const command = new CapturedCommand();
    command.env["LEASEHOLD_STORE"] = "postgres://me:pa55@host/db";
    await command.run("timing");
    await command.run("timing", "--store", "sqlite:///a.db");
    await command.run("timing", "--store-file", file);
    expect(command.opened).toEqual(["postgres://me:pa55@host/db", "sqlite:///a.db", "mysql://me:pa55@host/db"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
