import type { LeaseStore } from "@leasehold/core";
import type { StoreUrl } from "./store-url.ts";

/** What a URL's store needs of its process. */
export interface StorePlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which packages are looked for that are not installed beside the command. */
  readonly workingDirectory: string;
}

/** One scheme of store URLs. */
export interface StoreKind {
  /** How its URLs look, for the help. */
  readonly example: string;
  /** The parameters it has; undefined where they are the driver's own. */
  readonly parameters: readonly string[] | undefined;
  /** Checks what can be checked without its provider. @throws {ConfigurationError} */
  check(url: StoreUrl): void;
  open(url: StoreUrl, place: StorePlace): Promise<LeaseStore & AsyncDisposable>;
  /** The commands or statements that create what is missing, for people. */
  creation?(url: StoreUrl, store: LeaseStore): readonly string[];
  /** Checks that candidates have been here, where opening the store would make it. @throws {Failure} */
  checkUsed?(url: StoreUrl, place: StorePlace): Promise<void>;
  /** What a look at this machine alone makes doubtful. */
  localWarnings?(url: StoreUrl, place: StorePlace): Promise<readonly string[]>;
}

/** Returns the store with its end, whatever that takes. */
export function disposable<Store extends LeaseStore>(store: Store, end: () => unknown): Store & AsyncDisposable {
  const dispose = async (): Promise<void> => {
    await end();
  };
  return Object.assign(store, { [Symbol.asyncDispose]: dispose });
}
