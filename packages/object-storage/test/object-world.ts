import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { win } from "@leasehold/test-kit/acquisitions";
import { xmlError, type ObjectReply, type ObjectRequest } from "@leasehold/test-kit/object-server/messages";
import {
  BUCKET,
  startObjectServer,
  type Intercept,
  type ObjectServer,
  type Protocol,
} from "@leasehold/test-kit/object-server/server";
import { objectClient } from "@leasehold/test-kit/stores/objects";
import { test as base } from "vitest";

export const LIMITS = { timeoutMs: 20_000 };
export const PROTOCOLS = ["s3", "gcs"] as const;
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A server, the requests that it has received, and stores that use it. */
export interface ObjectWorld {
  readonly server: ObjectServer;
  readonly requests: ObjectRequest[];
  store(): ObjectStorageLeaseStore;
  /** Answers each request for which a reply is returned. */
  answer(reply: Intercept): void;
  /** Writes an object without a condition. */
  write(key: string, text: string): void;
  textOf(key: string): string | undefined;
}

/** Tests with a server for each protocol. */
export const test = base.extend("open", async ({}, { onCleanup }) => {
  await Promise.resolve();
  return async (protocol: Protocol): Promise<ObjectWorld> => {
    const server = await startObjectServer({ protocol });
    onCleanup(async () => await server[Symbol.asyncDispose]());
    const requests: ObjectRequest[] = [];
    const answer = (reply: Intercept): void => {
      server.intercept = (request) => {
        requests.push(request);
        return reply(request);
      };
    };
    answer(() => undefined);
    return {
      server,
      requests,
      answer,
      store: () => new ObjectStorageLeaseStore({ client: objectClient(protocol, server.url), bucket: BUCKET }),
      write: (key, text) => void server.bucket.put(key, encode(text), {}, undefined),
      textOf(key) {
        const found = server.bucket.objects.get(key);
        return found && new TextDecoder().decode(found.body);
      },
    };
  };
});

/** A refusal in the form of both services. */
export function refusal(status: number, code: string, headers: Record<string, string> = {}): ObjectReply {
  const own = { "x-amz-request-id": "R", "x-guploader-uploadid": "R", "content-type": "application/xml" };
  return { status, headers: { ...own, ...headers }, body: xmlError(code, "The service says why.") };
}

export function isWriteOf(request: ObjectRequest, key: string): boolean {
  return request.method === "PUT" && request.target.includes(key);
}

/** Acquires an election, and renews it once. */
export async function lead(store: ObjectStorageLeaseStore, election = "e"): ReturnType<typeof win> {
  return await win(store, { election, ...LIMITS });
}
