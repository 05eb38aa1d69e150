import { Readable } from "node:stream";
import type { LeaseRecord } from "@leasehold/core/provider";
import { IMPOSSIBLE_VERSION } from "@leasehold/core/provider";
import { beforeEach, describe, expect, it } from "vitest";
import { BlobRecordStore } from "../src/blob-record-store.ts";
import type { BlobPlace } from "../src/options.ts";

const RECORD = { schema: 3, term: 1, value: "ü" } as unknown as LeaseRecord;
const DATES = { date: new Date(1_750_000_010_000), lastModified: new Date(1_750_000_000_000) };

describe("the records in a container", () => {
  const { signal } = new AbortController();
  let calls: unknown[][];
  /** The results of the requests, in turn. The default is a reply of the service. */
  let outcomes: Array<object | Error>;

  beforeEach(() => {
    calls = [];
    outcomes = [];
  });

  async function reply(...call: unknown[]): Promise<object> {
    calls.push(call);
    const outcome = outcomes.shift() ?? {};
    await Promise.resolve();
    if (outcome instanceof Error) throw outcome;
    return { requestId: "r1", etag: '"v1"', ...DATES, ...outcome };
  }

  function store(createsContainer = false): BlobRecordStore {
    const container = {
      create: (options: object) => reply("create", options),
      getBlockBlobClient: (name: string) => ({
        download: (...args: unknown[]) => reply("download", name, ...args),
        upload: (content: Uint8Array, ...args: unknown[]) => reply("upload", name, new TextDecoder().decode(content), ...args),
      }),
    };
    return new BlobRecordStore({ container, createsContainer } as unknown as BlobPlace, "p/");
  }

  function refusal(statusCode: number, code: string): Error {
    const headers = { get: (name: string) => (name === "x-ms-request-id" ? "r1" : undefined) };
    return Object.assign(new Error("no"), { code, statusCode, response: { headers } });
  }

  it("are each read as a whole by one request, no part of which the SDK repeats", async () => {
    const bytes = Buffer.from(JSON.stringify(RECORD));
    const middle = bytes.indexOf("ü") + 1;
    outcomes = [{ readableStreamBody: Readable.from([bytes.subarray(0, middle), bytes.subarray(middle)]) }];
    expect(await store().get("e", { signal, consistent: true })).toEqual({
      data: RECORD,
      version: '"v1"',
      nonceAgeMs: [8_000, 12_000],
    });
    expect(calls).toEqual([["download", "p/e", 0, undefined, { abortSignal: signal, maxRetryRequests: 0 }]]);
  });

  it("are unchanged after a read that broke off", async () => {
    outcomes = [Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })];
    await expect(store().get("e", { signal, consistent: true })).rejects.toMatchObject({ mayHaveBeenApplied: false });
  });

  it("are foreign if they are not JSON, and undefined if there is no blob", async () => {
    const gone = [refusal(404, "BlobNotFound"), refusal(404, "ContainerNotFound")];
    outcomes = [{ etag: undefined }, ...gone, refusal(403, "AuthorizationFailure")];
    expect(await store().get("e", { signal, consistent: true })).toMatchObject({ data: undefined, version: "" });
    expect(await store().get("e", { signal, consistent: true })).toBeUndefined();
    expect(await store().get("e", { signal, consistent: true })).toBeUndefined();
    await expect(store().get("e", { signal, consistent: true })).rejects.toMatchObject({
      code: "STORE_DENIED",
      operation: "get",
      election: "e",
      mayHaveBeenApplied: false,
    });
  });

  it.each([
    [undefined, { ifNoneMatch: "*" }],
    ['"v0"', { ifMatch: '"v0"' }],
    [IMPOSSIBLE_VERSION, { ifMatch: '"0x0"' }],
  ])("are written on the condition that their version is %s", async (ifVersion, conditions) => {
    expect(await store().put("e", RECORD, { ifVersion, keepsNonce: false, signal })).toEqual({ stored: true, version: '"v1"' });
    const text = JSON.stringify(RECORD);
    const blobHTTPHeaders = { blobContentType: "application/json" };
    const options = { abortSignal: signal, conditions, blobHTTPHeaders };
    expect(calls).toEqual([["upload", "p/e", text, Buffer.byteLength(text), options]]);
  });

  it.each<readonly [string | undefined, number, string, boolean]>([
    [undefined, 409, "BlobAlreadyExists", true],
    ['"v0"', 409, "BlobAlreadyExists", false],
    ['"v0"', 412, "ConditionNotMet", true],
    [undefined, 412, "ConditionNotMet", true],
    ['"v0"', 404, "BlobNotFound", true],
    [undefined, 404, "BlobNotFound", false],
    ['"v0"', 404, "ContainerNotFound", true],
    [undefined, 404, "ContainerNotFound", false],
    [undefined, 503, "ServerBusy", false],
  ])(
    "whose version was to be %s are not written after a %d %s, which is no failure: %s",
    async (ifVersion, status, code, isNone) => {
      outcomes = [refusal(status, code)];
      const put = store().put("e", RECORD, { ifVersion, keepsNonce: false, signal });
      if (isNone) await expect(put).resolves.toEqual({ stored: false });
      else await expect(put).rejects.toMatchObject({ operation: "put", election: "e", mayHaveBeenApplied: status === 503 });
      expect(calls).toHaveLength(1);
    },
  );

  it.each<readonly [string, object | Error]>([
    ["is made", {}],
    ["is there meanwhile", refusal(409, "ContainerAlreadyExists")],
  ])("have a container that %s, if one may be created and the first record finds none", async (_, outcome) => {
    outcomes = [refusal(404, "ContainerNotFound"), outcome];
    expect(await store(true).put("e", RECORD, { ifVersion: undefined, keepsNonce: false, signal })).toMatchObject({
      stored: true,
    });
    expect(calls.map(([name]) => name)).toEqual(["upload", "create", "upload"]);
    expect(calls[1]).toEqual(["create", { abortSignal: signal }]);
  });

  it("get no new container if they existed before, nor if anything else is missing", async () => {
    for (const [ifVersion, code] of [
      ['"v0"', "ContainerNotFound"],
      [undefined, "BlobNotFound"],
    ]) {
      outcomes = [refusal(404, code as string)];
      await store(true)
        .put("e", RECORD, { ifVersion, keepsNonce: false, signal })
        .catch(() => undefined);
    }
    expect(calls.map(([name]) => name)).toEqual(["upload", "upload"]);
  });

  it("fail with the error of their container's creation", async () => {
    outcomes = [refusal(404, "ContainerNotFound"), new Error("socket hang up")];
    await expect(store(true).put("e", RECORD, { ifVersion: undefined, keepsNonce: false, signal })).rejects.toMatchObject({
      operation: "create-container",
      mayHaveBeenApplied: true,
    });
  });

  it("may be as long as a value, and their age has the bounds of two dates", () => {
    expect(store().capabilities).toEqual({
      maxValueBytes: 65_536,
      fence: "none",
      storeClock: { toleranceMs: 4_000, exact: false },
    });
  });
});
