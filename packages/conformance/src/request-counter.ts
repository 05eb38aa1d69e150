import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core";

/** The requests about some elections that stores of this process send while `act` is under way, in the order in which they ended. */
export async function requestsDuring(
  elections: readonly string[],
  act: () => Promise<unknown>,
): Promise<readonly StoreRequest[]> {
  const requests: StoreRequest[] = [];
  const note = (message: unknown): void => {
    const request = message as StoreRequest;
    if (elections.includes(request.election)) requests.push(request);
  };
  subscribe(REQUEST_CHANNEL, note);
  try {
    await act();
  } finally {
    unsubscribe(REQUEST_CHANNEL, note);
  }
  return requests;
}
