import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect } from "vitest";
import { ExampleProcess } from "@leasehold/test-kit/processes/example-process";
import { LEASE_MS, test as base, TIME_LIMIT_MS, workshop } from "./test.ts";

const test = base.extend("queue", async ({}) => workshop.install("queue", "build"));

/** Returns the payments of the ledger, in the order of their entries. */
function ledgerOf(file: string): unknown[] {
  using database = new DatabaseSync(file);
  return database
    .prepare("SELECT payment FROM ledger ORDER BY entry")
    .all()
    .map(({ payment }) => payment);
}

function countedTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

describe.concurrent("examples/queue", { timeout: TIME_LIMIT_MS }, () => {
  test("is drained in order, by the second where the first is killed", async ({ queue, folder, open }) => {
    const env = { PAYMENTS_FILE: join(folder, "killed.db"), LEASE_DURATION_MS: String(LEASE_MS) };
    const first = open.use(new ExampleProcess(queue, ["node", "dist/main.js"], env));
    await first.said("leads");
    const second = open.use(new ExampleProcess(queue, ["npm", "start"], env));
    await second.said("campaigns");
    // The first process would need ten more seconds for these.
    await queue.runWith(env, "npm", "run", "add", "--", "40");
    await first.said("preparing payment 4");

    first.signal("SIGKILL");
    await second.said("applied payment 40,");
    second.interrupt();
    await second.ended;

    expect(ledgerOf(env.PAYMENTS_FILE)).toEqual(countedTo(40));
    expect(second.lines.at(-1)).toEqual({ msg: "term 2: over" });
    expect(await queue.runWith(env, "npm", "run", "show")).toContain("40 payments, each once and in order");
  });

  test("refuses the payment of a leader that was frozen", async ({ queue, folder }) => {
    const env = { PAYMENTS_FILE: join(folder, "frozen-payments.db"), LEASE_DURATION_MS: String(LEASE_MS) };
    const told = await queue.runWith(env, "npm", "run", "freeze");

    // The README shows this line.
    const [, shown = ""] = /```text\n(.*)\n```/.exec(await queue.read("README.md")) ?? [];
    expect(told).toContain(shown);
    expect(told).toContain("12 payments, each once and in order");
    expect(ledgerOf(env.PAYMENTS_FILE)).toEqual(countedTo(12));
  });

  test("finds that payment twice where the fence is taken away", async ({ queue, folder }) => {
    await queue.copyBuild("unfenced", "payments.js", "await this.store.fence(leadership, this.#database);", "");

    const env = { PAYMENTS_FILE: join(folder, "unfenced.db"), LEASE_DURATION_MS: String(LEASE_MS) };
    await expect(queue.runWith(env, "node", "unfenced/freeze.js")).rejects.toThrow("payment 4 (term 1) comes after payment");
    expect(ledgerOf(env.PAYMENTS_FILE).filter((payment) => payment === 4)).toHaveLength(2);
  });

  test("says what is wrong in one line", async ({ queue }) => {
    await expect(queue.run("npm", "run", "add", "--", "some")).rejects.toThrow("\nSay how many payments to add");
    await expect(queue.runWith({ PAYMENTS_FILE: "/nowhere/payments.db" }, "node", "dist/main.js")).rejects.toThrow(
      /node dist\/main.js\n\/nowhere\/payments.db cannot be opened: .*\n$/,
    );
  });
});
