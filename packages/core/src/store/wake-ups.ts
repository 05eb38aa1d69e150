import { onAbort } from "../time/clock.ts";

export interface WatchCallbacks {
  readonly changed: () => void;
  readonly failed: (error: Error) => void;
}

export interface JoinedWatch {
  /** Resolves once every later change is certain to be noticed. @throws the error that prevents that. */
  readonly listening: Promise<void>;
  readonly leave: () => void;
}

/**
 * Yields a wake-up once the connection listens, and at each change until the signal aborts. Changes between two wake-ups make one
 * wake-up.
 * @throws the error that ends the listening.
 */
export async function* wakeUps(join: (callbacks: WatchCallbacks) => JoinedWatch, signal: AbortSignal): AsyncGenerator<void> {
  let wake = Promise.withResolvers<void>();
  const changed = (): void => wake.resolve();
  // Stored, because the failure may come while the caller handles a wake-up.
  let failure: Error | undefined;
  const failed = (error: Error): void => {
    failure = error;
    wake.resolve();
  };
  const stopListening = onAbort(signal, changed);
  const { listening, leave } = join({ changed, failed });
  try {
    await Promise.race([listening, wake.promise]);
    for (;;) {
      if (failure) throw failure;
      if (signal.aborted) return;
      yield;
      await wake.promise;
      wake = Promise.withResolvers();
    }
  } finally {
    stopListening();
    listening.catch(() => undefined);
    leave();
  }
}
