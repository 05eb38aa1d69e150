import { sendRequest, type RequestOptions } from "@leasehold/core";
import { STORE_NAME, toStoreError } from "./azure-blob-errors.ts";

/** What every reply of the service carries, and no stranger's does. */
export interface Reply {
  readonly requestId?: string;
  readonly date?: Date;
}

/**
 * One request to the service: sent once, bounded in time, published, failing with errors of ours.
 * A success without the service's request id fails, too: proxies and captive portals answer anything with success.
 */
export async function requestService<T extends Reply>(
  options: Omit<RequestOptions, "store">,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return await sendRequest({ ...options, store: STORE_NAME }, async (signal) => {
    try {
      const reply = await send(signal);
      if (reply.requestId === undefined) throw new Error("the answer is not the service's: it has no x-ms-request-id");
      return reply;
    } catch (error) {
      throw toStoreError(error, options.operation, options.election, options.writes);
    }
  });
}
