import { startServiceChild } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/** How to start Azurite. */
export interface AzuriteOptions {
  /** The port to listen on, for a service that comes back where it was. @defaultValue 0, a free one */
  readonly port?: number | undefined;
  /** How long the start may take before it fails, in milliseconds. @defaultValue 30000 */
  readonly startTimeoutMs?: number | undefined;
}

/**
 * Microsoft's blob emulator in a process of its own, holding its data in memory. It does not outlive this process,
 * however this process ends. Blobs are below `${url}/devstoreaccount1`; leases expire by the clock that `advance` moves.
 */
export interface Azurite extends ServiceProcess {
  /** Names the service and its well-known account. */
  readonly connectionString: string;
}

/**
 * Starts Azurite's blob service on 127.0.0.1. Takes about half a second.
 * @throws an error with what the process wrote to stderr, if it ends or takes too long before it serves.
 */
export async function startAzurite({ port = 0, startTimeoutMs }: AzuriteOptions = {}): Promise<Azurite> {
  const script = new URL("./azurite-child.ts", import.meta.url);
  const service = await startServiceChild(script, [String(port)], { name: "Azurite", startTimeoutMs });
  return Object.assign(service, { connectionString: azuriteConnectionString(service.url) });
}

/** The connection string of the well-known account at `baseUrl`: Azurite's own, or that of a proxy in front of it. */
export function azuriteConnectionString(baseUrl: string): string {
  // Published, and the same in every Azurite: https://learn.microsoft.com/azure/storage/common/storage-connect-azurite
  const account = "devstoreaccount1";
  const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
  const endpoint = `${new URL(baseUrl).origin}/${account}`;
  return `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${endpoint};`;
}
