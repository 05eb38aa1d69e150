import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

const POOLED: readonly StoreKind[] = ["records with a clock"];

const REQUESTS = "packages/sql/src/requests.ts";
const POOL_TRUST = "packages/sql/src/pool-trust.ts";

/** Bugs in the use of a connection after a call that failed. */
export const CONNECTION_MUTANTS: readonly Mutant[] = [
  {
    name: "failed-connection-kept",
    rule: "a connection is kept only after success",
    bug: "a connection goes back to its pool after a call that failed, also where its server only takes reads",
    within: 50,
    patches: [
      {
        file: REQUESTS,
        find: "        this.#connections.discard(connection);\n",
        replace: "        this.#connections.release(connection);\n",
      },
    ],
    stores: POOLED,
  },
  {
    name: "old-connections-trusted",
    rule: "a connection is kept only after success",
    bug: "after a call that got no answer the next one uses a connection that was open then",
    within: 500,
    patches: [{ file: POOL_TRUST, find: "lastAnswer >= this.#doubtedUntil", replace: "lastAnswer >= 0" }],
    stores: POOLED,
  },
];
