import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";

/** Returns the requests about some elections that stores of this process send during `act`, in the order in which they ended. */
export async function requestsDuring(
  elections: readonly string[],
  act: () => Promise<unknown>,
): Promise<readonly StoreRequest[]> {
  const requests: StoreRequest[] = [];
  await whileNoting(elections, (request) => void requests.push(request), act);
  return requests;
}

/** Calls `ended` for each request about some elections as soon as it has ended, before its answer is used. */
export async function whileNoting<T>(
  elections: readonly string[],
  ended: (request: StoreRequest) => void,
  act: () => Promise<T>,
): Promise<T> {
  const note = (message: unknown): void => {
    const request = message as StoreRequest;
    if (elections.includes(request.election)) ended(request);
  };
  subscribe(REQUEST_CHANNEL, note);
  try {
    return await act();
  } finally {
    unsubscribe(REQUEST_CHANNEL, note);
  }
}
