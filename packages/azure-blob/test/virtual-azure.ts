import type { ContainerClient } from "@azure/storage-blob";
import { BlobLeaseStore, type BlobLeaseStoreOptions } from "@leasehold/azure-blob";
import { VirtualClock } from "@leasehold/core/testing";
import { blobRequestName } from "@leasehold/test-kit/faults/blob-request-name";
import { containerOn } from "@leasehold/test-kit/simulated/azure-http";
import { AzureService, type AzureReply, type AzureRequest } from "@leasehold/test-kit/simulated/azure-service";

/** A request with a name. */
export interface NamedRequest extends AzureRequest {
  /** The name that the fault proxy gives it. For the note beside a blob it is `note:` and that name. */
  readonly name: string;
}

/** Sends a request on. A test may act before, after or instead of it. */
export type Send = () => AzureReply;

/** One process, and its connection to the service. */
export interface Connection {
  readonly store: BlobLeaseStore;
  readonly container: ContainerClient;
  /** The names of the requests so far. */
  readonly sent: string[];
  /** Runs between the process and the service. The default only sends the request on. */
  onRequest: (request: NamedRequest, send: Send) => AzureReply | Promise<AzureReply>;
}

/** A Blob Storage on a virtual clock that all of its processes share. A request and its reply take no time. */
export class VirtualAzure {
  readonly clock: VirtualClock = new VirtualClock();
  readonly service: AzureService = new AzureService(() => this.clock.wallMs());

  /** Returns the connection of one more process. */
  connect(options: BlobLeaseStoreOptions = {}): Connection {
    const sent: string[] = [];
    const container = containerOn(async (request) => {
      const named = { ...request, name: nameOf(request) };
      sent.push(named.name);
      return await connection.onRequest(named, () => this.service.answer(request));
    });
    const store = new BlobLeaseStore({ container, clock: this.clock, createContainer: true, ...options });
    const connection: Connection = { store, container, sent, onRequest: (_, send) => send() };
    return connection;
  }

  /** Lets time pass until the promise settles. */
  async run<T>(work: Promise<T>): Promise<T> {
    return await this.clock.runUntil(work, 120_000);
  }
}

/** Returns an answer of the service that is not a success. */
export function refusal(status: number, code: string): AzureReply {
  return { status, headers: { "x-ms-error-code": code, "x-ms-request-id": "r" } };
}

/** Carries out a request, and loses its reply. */
export function loseReply(send: Send): never {
  send();
  throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}

function nameOf({ method, url, header }: AzureRequest): string {
  const { pathname, searchParams: query } = new URL(url);
  const name = blobRequestName({ method, query, headers: { "x-ms-lease-action": header("x-ms-lease-action") } } as never);
  return pathname.endsWith(".note") ? `note:${name}` : name;
}
