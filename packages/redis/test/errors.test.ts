import type { StoreErrorCode } from "@leasehold/core";
import { expect, test } from "vitest";
import { isAnswer, isLate, isReplica, keepsConnection, lacksRight, lacksScript, toStoreError } from "../src/redis-errors.ts";

const WRITE = { operation: "put", election: "e", writes: true };
const WHAT = { store: "redis", operation: "put", election: "e" };
const CLUSTER = "This is a cluster: give the store a cluster client instead of a client of one node.";

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
  ["UNBLOCKED force unblock from blocking operation", "STORE_UNAVAILABLE", false],
  ["CROSSSLOT Keys in request don't hash to the same slot", "STORE_REJECTED", true],
  ["NOSCRIPT No matching script.", "STORE_CONFLICT", true],
  ["-READONLY You can't write against a read only replica.", "STORE_UNAVAILABLE", false],
  ["TRYAGAIN Multiple keys request during rehashing of slot", "STORE_CONFLICT", true],
  ["MOVED 3999 127.0.0.1:6381", "STORE_REJECTED", false],
  ["ASK 3999 127.0.0.1:6381", "STORE_REJECTED", false],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "STORE_REJECTED", true],
  ["ERR unknown command 'EVALSHA'", "STORE_REJECTED", true],
])("%s is an answer that changed nothing", (message, code, keeps) => {
  const error = new Error(message);
  expect(toStoreError(error, WRITE, true)).toMatchObject({ ...WHAT, code, mayHaveBeenApplied: false });
  expect([isAnswer(error), keepsConnection(error), lacksRight(error)]).toEqual([true, keeps, code === "STORE_DENIED"]);
});

test.each([
  ["NOAUTH a.", "Give the client its user and password."],
  ["WRONGPASS a.", "Check the user and the password."],
  ["NOPERM a.", "Candidates need EVALSHA, EVAL, TIME, INFO, HMGET, HGET, EXISTS, HSET, PEXPIRE and PUBLISH"],
  ["OOM a.", "The server is full: raise maxmemory, or delete data."],
  ["MISCONF a.", "The server cannot save to its disk, and refuses writes: read its log."],
  ["NOREPLICAS a.", "Fewer replicas than min-replicas-to-write are connected."],
  ["BUSY a.", "A script runs for too long: SCRIPT KILL ends it."],
  ["MOVED a.", CLUSTER],
  ["ASK a.", CLUSTER],
  ["WRONGTYPE a.", "Another program uses a key of this prefix: choose another prefix."],
])("%s has advice", (message, advice) => {
  expect(toStoreError(new Error(message), WRITE, true).message).toContain(`redis: 'put' of 'e' failed: ${message} ${advice}`);
});

test.each<[error: unknown, says: string, code?: string]>([
  [new Error("READONLY no script: 0123456789012345678901234567890123456789, on @user_script:1."), "READONLY no."],
  [Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }), "connect ECONNREFUSED.", "ECONNREFUSED"],
  [Object.assign(new Error("closed"), { code: "EPIPE" }), "EPIPE: closed.", "EPIPE"],
  [{ message: "", errors: [Object.assign(new Error("no host"), { code: "ENOTFOUND" })] }, "ENOTFOUND: no host.", "ENOTFOUND"],
  [{ message: "all", errors: [new Error("one")] }, "all."],
  [Object.assign(new Error("closed"), { code: 7 }), "closed."],
  ["closed", "closed."],
])("%s is told as it is", (error, says, code) => {
  const told = toStoreError(error, WRITE, true);
  expect(told.message).toContain(`redis: 'put' of 'e' failed: ${says}`);
  expect((told.cause as { code?: string }).code).toBe(code);
  expect(toStoreError(told, WRITE, true)).toBe(told);
});

test("a replica's answer, and a write that came too late, changed nothing", () => {
  const [replica, late] = [isReplica(WRITE), isLate(WRITE)];
  expect(replica).toMatchObject({ ...WHAT, code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
  expect(replica.message).toContain("the server is a replica, which may lag behind.");
  expect(late).toMatchObject({ ...WHAT, code: "STORE_CONFLICT", mayHaveBeenApplied: false });
  expect(late.message).toContain("'put' of 'e' reached the server too late");
});

test.each([
  ["a lost connection", new Error("Connection is closed.")],
  ["a reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })],
  ["a word that Redis does not have", new Error("CONSTRUCTOR a")],
  ["a word with a code", Object.assign(new Error("READONLY a"), { code: "READONLY" })],
  ["an answer that is not Redis'", new Error('Protocol error, got "H" as reply type byte')],
])("%s leaves the outcome of a write open, and the connection is not used again", (_, error) => {
  expect(toStoreError(error, WRITE, true)).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
  expect([isAnswer(error), keepsConnection(error), lacksRight(error)]).toEqual([false, false, false]);
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
