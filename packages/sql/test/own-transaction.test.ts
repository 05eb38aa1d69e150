import { describe, expect, test } from "vitest";
import type { MySqlConnection } from "../src/mysql/mysql-driver.ts";
import { inOwnTransaction } from "../src/mysql/own-transaction.ts";

/** Returns a connection that records its statements, and on which one statement fails. */
function connectionWhere(failing = ""): { readonly connection: MySqlConnection; readonly sent: string[] } {
  const sent: string[] = [];
  const query = async (options: object): Promise<readonly [unknown]> => {
    const { sql } = options as { readonly sql: string };
    sent.push(sql);
    if (sql === failing) throw new Error(`${sql} failed`);
    return [[]];
  };
  return { connection: { threadId: 1, query }, sent };
}

describe("an own transaction", () => {
  test("undoes what was left on the connection, and is committed before its result is returned", async () => {
    const { connection, sent } = connectionWhere();
    const result = await inOwnTransaction(connection, async () => {
      sent.push("act");
      return 5;
    });
    expect({ result, sent }).toEqual({ result: 5, sent: ["ROLLBACK", "act", "COMMIT"] });
  });

  test("that fails is rolled back, because its locks would stay on the connection", async () => {
    const { connection, sent } = connectionWhere();
    const failing = inOwnTransaction(connection, () => Promise.reject(new Error("the fence is ahead")));
    await expect(failing).rejects.toThrow("the fence is ahead");
    expect(sent).toEqual(["ROLLBACK", "ROLLBACK"]);
  });

  test("whose commit fails has no result", async () => {
    const { connection, sent } = connectionWhere("COMMIT");
    await expect(inOwnTransaction(connection, () => Promise.resolve(5))).rejects.toThrow("COMMIT failed");
    expect(sent).toEqual(["ROLLBACK", "COMMIT", "ROLLBACK"]);
  });

  test("does not begin if what was left cannot be undone", async () => {
    const { connection, sent } = connectionWhere("ROLLBACK");
    const act = async (): Promise<void> => void sent.push("act");
    await expect(inOwnTransaction(connection, act)).rejects.toThrow("ROLLBACK failed");
    expect(sent).toEqual(["ROLLBACK"]);
  });
});
