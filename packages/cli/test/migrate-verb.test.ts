import { expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

test("migrate creates the tables of a store that can", async () => {
  const command = new CapturedCommand();
  const migrate = vi.fn<() => Promise<void>>(async () => await Promise.resolve());
  Object.assign(command.store, { migrate });
  const { exitCode, stdout, stderr } = await command.run("migrate", "--json");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "leasehold: the tables of memory exist.\n" });
  expect(JSON.parse(stdout)).toEqual({ store: "memory", migrated: true });
  expect(migrate).toHaveBeenCalledOnce();
});

test("migrate prints the command that creates another store", async () => {
  const command = new CapturedCommand();
  command.env["LEASEHOLD_STORE"] = "dynamodb://leases?region=eu-west-1";
  const { exitCode, stderr } = await command.run("migrate");
  expect(exitCode).toBe(64);
  expect(stderr).toMatch(
    /memory has no tables that this command creates; run: aws dynamodb create-table --table-name leases .*\.\n$/,
  );
});
