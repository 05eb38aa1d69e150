import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Request, Response } from "@google-cloud/functions-framework";
import { MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { expect, onTestFinished, test } from "vitest";

/** What a handler that waits for its own response to be sent may look like. */
const WAITING: Readonly<Record<string, (response: ServerResponse) => Promise<void>>> = {
  "'finish', heard before it ends": (response) => heard(response, "finish", true),
  "'finish', heard after it ends": (response) => heard(response, "finish", false),
  "'close', heard before it ends": (response) => heard(response, "close", true),
  "'close', heard after it ends": (response) => heard(response, "close", false),
};

async function heard(response: ServerResponse, event: string, listensFirst: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (listensFirst) response.on(event, resolve);
  response.end("billed");
  if (!listensFirst) response.on(event, resolve);
  await promise;
}

test.for(Object.entries(WAITING))("a handler that awaits a bare %s, is not kept waiting", async ([, handler]) => {
  const store = new MemoryLeaseStore();
  const wrapped = onlyAsLeaderOnHttp({ store, election: "nightly-billing" }, (_request, response) =>
    handler(response as unknown as ServerResponse),
  );
  const ended = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    wrapped(request as unknown as Request, response as unknown as Response).then(ended.resolve, ended.reject);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());

  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await expect(answer.text()).resolves.toBe("billed");
  await ended.promise;
  await expect(store.read("nightly-billing")).resolves.toMatchObject({ state: "vacant", term: 1 });
});
