import { startServiceChild } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/**
 * Microsoft's blob emulator in a process of its own, with its data in memory. It does not outlive this process, however this
 * process ends. Blobs are below `${url}/devstoreaccount1`. Leases expire by the clock that `advance` moves.
 */
export interface Azurite extends ServiceProcess {
  /** The connection string of the service and its well-known account. */
  readonly connectionString: string;
}

/**
 * Starts Azurite's blob service on a free port of 127.0.0.1. Takes about half a second.
 * @throws an error with what the process wrote to stderr, if it ends or takes too long before it serves.
 */
export async function startAzurite(): Promise<Azurite> {
  const service = await startServiceChild("Azurite", new URL("./azurite-child.ts", import.meta.url));
  return Object.assign(service, { connectionString: azuriteConnectionString(service.url) });
}

/** The connection string of the well-known account at `baseUrl`: Azurite's own, or that of a proxy in front of it. */
export function azuriteConnectionString(baseUrl: string): string {
  // A published key, the same in every Azurite: https://learn.microsoft.com/azure/storage/common/storage-connect-azurite
  const account = "devstoreaccount1";
  const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
  const endpoint = `${new URL(baseUrl).origin}/${account}`;
  return `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${endpoint};`;
}
