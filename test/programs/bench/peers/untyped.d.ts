// The parts that the adapters use of peers without types, or with types that their exports hide.

declare module "dynamodb-lock-client" {
  import type { EventEmitter } from "node:events";
  interface Options {
    readonly dynamodb: object;
    readonly lockTable: string;
    readonly partitionKey: string;
    readonly heartbeatPeriodMs: number;
    readonly leaseDurationMs: number;
    readonly retryCount: number;
  }
  export interface Lock extends EventEmitter {
    readonly fencingToken: number;
    release(done: (error?: Error) => void): void;
  }
  export class FailOpen {
    constructor(options: Options);
    acquireLock(id: string, done: (error: Error | undefined, lock: Lock) => void): void;
  }
}

declare module "redlock-4" {
  import type { EventEmitter } from "node:events";
  export interface Lock {
    /** By `Date.now()`. */
    readonly expiration: number;
    extend(ms: number): Promise<Lock>;
    unlock(): Promise<void>;
  }
  export default class Redlock extends EventEmitter {
    constructor(clients: readonly object[]);
    lockWithOptions(resource: string, ms: number, options: { readonly retryCount: number }): Promise<Lock>;
  }
}

declare module "redlock-5" {
  import type { EventEmitter } from "node:events";
  export default class Redlock extends EventEmitter {
    constructor(clients: readonly object[]);
    acquire(
      resources: readonly string[],
      ms: number,
      settings: { readonly retryCount: number },
    ): Promise<{ release(): Promise<unknown> }>;
    using(
      resources: readonly string[],
      ms: number,
      settings: { readonly retryCount: number },
      routine: (signal: AbortSignal) => Promise<void>,
    ): Promise<void>;
  }
}

declare module "aws-sdk/lib/maintenance_mode_message.js" {
  const message: { suppress: boolean };
  export default message;
}
