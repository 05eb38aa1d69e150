/** The parts of Node's modules that `@leasehold/core` imports, for a browser. No channel has a subscriber there. */

export function hostname(): string {
  return "browser";
}

export const AsyncLocalStorage = undefined;

export function channel(): { readonly hasSubscribers: false } {
  return { hasSubscribers: false };
}

export function subscribe(): void {}

export function unsubscribe(): void {}
