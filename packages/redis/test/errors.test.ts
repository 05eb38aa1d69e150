import type { StoreErrorCode } from "@leasehold/core";
import { expect, test } from "vitest";
import { keepsConnection, lacksScript, toStoreError } from "../src/redis-errors.ts";

const WRITE = { operation: "put", election: "e", writes: true };

test.each<[message: string, code: StoreErrorCode, keeps: boolean]>([
  ["NOAUTH Authentication required.", "STORE_UNAUTHENTICATED", true],
  ["WRONGPASS invalid username-password pair or user is disabled.", "STORE_UNAUTHENTICATED", true],
  ["NOPERM this user has no permissions to run the 'evalsha' command", "STORE_DENIED", true],
  ["ERR The user executing the script can't run this command or subcommand script: a, on @user_script:4.", "STORE_DENIED", true],
  ["ERR ACL failure in script: User a has no permissions to run the 'hset' command script: b", "STORE_DENIED", true],
  ["OOM command not allowed when used memory > 'maxmemory'. script: a", "STORE_UNAVAILABLE", true],
  ["ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed", "STORE_UNAVAILABLE", true],
  ["MISCONF Redis is configured to save RDB snapshots", "STORE_UNAVAILABLE", true],
  ["NOREPLICAS Not enough good replicas to write.", "STORE_UNAVAILABLE", false],
  ["BUSY Redis is busy running a script.", "STORE_UNAVAILABLE", true],
  ["READONLY You can't write against a read only replica.", "STORE_UNAVAILABLE", false],
  ["LOADING Redis is loading the dataset in memory", "STORE_UNAVAILABLE", false],
  ["CLUSTERDOWN Hash slot not served", "STORE_UNAVAILABLE", false],
  ["MASTERDOWN Link with MASTER is down", "STORE_UNAVAILABLE", false],
  ["TRYAGAIN Multiple keys request during rehashing of slot", "STORE_CONFLICT", true],
  ["MOVED 3999 127.0.0.1:6381", "STORE_REJECTED", false],
  ["ASK 3999 127.0.0.1:6381", "STORE_REJECTED", false],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "STORE_REJECTED", true],
  ["ERR unknown command 'EVALSHA'", "STORE_REJECTED", true],
])("%s is an answer that changed nothing", (message, code, keeps) => {
  const error = new Error(message);
  expect(toStoreError(error, WRITE, true)).toMatchObject({ code, mayHaveBeenApplied: false });
  expect(keepsConnection(error)).toBe(keeps);
});

test.each([
  ["a lost connection", new Error("Connection is closed.")],
  ["a reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })],
  ["an answer that is not Redis'", new Error('Protocol error, got "H" as reply type byte')],
])("%s leaves the outcome of a write open, and the connection is not used again", (_, error) => {
  expect(toStoreError(error, WRITE, true)).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
  expect(keepsConnection(error)).toBe(false);
});

test("a write that was never sent was not applied", () => {
  const one = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const refused = { message: "", errors: [one] };
  expect(toStoreError(refused, WRITE, true)).toMatchObject({ mayHaveBeenApplied: false });
  expect(toStoreError(new Error("Connection is closed."), WRITE, false)).toMatchObject({ mayHaveBeenApplied: false });
});

test("only NOSCRIPT asks for the script's text", () => {
  expect(lacksScript(new Error("NOSCRIPT No matching script. Please use EVAL."))).toBe(true);
  expect(lacksScript(new Error("ERR NOSCRIPT"))).toBe(false);
});

test("no error has the client's command, which has the nonce", () => {
  const error = Object.assign(new Error("READONLY no"), { command: { name: "evalsha", args: ["secret-nonce"] } });
  const told = toStoreError(error, WRITE, true);
  expect(JSON.stringify([told, told.cause, told.message])).not.toContain("secret-nonce");
});
