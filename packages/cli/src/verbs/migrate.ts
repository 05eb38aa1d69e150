import type { LeaseStore } from "@leasehold/core";
import { printResult } from "../admin-command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { creationOf } from "../store-url/store-from-url.ts";
import { addStoreOptions, openStore, storeUrl } from "../target-options.ts";
import type { Verb } from "../verb.ts";

/** Creates the tables of a SQL store. For another store it prints the commands that create it, if there are any. */
export const verb: Verb = {
  define(command) {
    addStoreOptions(command).option("--json", "print the result as JSON");
  },
  async act(command, environment) {
    await using store = await openStore(command, environment);
    if (!canMigrate(store)) {
      const creation = await creationOf(await storeUrl(command, environment), store);
      const advice = creation.length > 0 ? `; run: ${creation.join(" ")}` : "; there is nothing to migrate";
      throw new CommandError(EXIT.usage, `the store ${store.name} has no tables that this command creates${advice}.`);
    }
    await store.migrate();
    printResult(command, environment, `the tables of ${store.name} exist.`, { store: store.name, migrated: true });
    return EXIT.done;
  },
};

function canMigrate(store: LeaseStore): store is LeaseStore & { migrate(): Promise<void> } {
  return typeof (store as { migrate?: unknown }).migrate === "function";
}
