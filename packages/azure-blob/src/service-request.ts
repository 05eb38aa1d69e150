import { sendRequest, type RequestOptions } from "@leasehold/core/provider";
import { STORE_NAME, toStoreError } from "./azure-blob-errors.ts";

/** What every reply of the service carries, and no stranger's does. */
export interface Reply {
  readonly requestId?: string;
  readonly date?: Date;
  readonly lastModified?: Date;
}

/**
 * How long before the reply the blob was last written, by the service's own clock, from headers that each name a second:
 * the truth is less than a second away on either side.
 */
export function unchangedForMs({ date, lastModified }: Reply): number {
  return (date?.getTime() ?? 0) - (lastModified?.getTime() ?? 0);
}

/** What the two seconds of {@link unchangedForMs} may hide. */
export const DATE_GRAIN_MS = 1_000;

/**
 * One request to the service: sent once, bounded in time, published, failing with errors of ours.
 * A success without the service's request id fails, too: proxies and captive portals answer anything with success.
 */
export async function requestService<T extends Reply>(
  options: Omit<RequestOptions, "store">,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return await sendRequest({ ...options, store: STORE_NAME }, async (signal) => await askService(options, () => send(signal)));
}

/** The same, where the caller bounds the request in time and publishes it. */
export async function askService<T extends Reply>(
  { operation, election, writes }: Pick<RequestOptions, "operation" | "election" | "writes">,
  send: () => Promise<T>,
): Promise<T> {
  try {
    const reply = await send();
    if (reply.requestId === undefined) throw new Error("the answer is not the service's: it has no x-ms-request-id");
    return reply;
  } catch (error) {
    throw toStoreError(error, operation, election, writes);
  }
}
