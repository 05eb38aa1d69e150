import { describe, expect, test } from "vitest";
import { rightsIn } from "./role-evaluation.ts";
import { settingsOf, stack } from "./stack-settings.ts";

const WRITE = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write";

describe("the settings of the app", () => {
  const mayDo = rightsIn(stack);

  test.each(["azurerm_container_app", "azapi_resource"] as const)(
    "name, in its %s, an election that its identity may compete in, occurrences included, and no other may",
    (type) => {
      const { AZURE_CLIENT_ID: client = "", ELECTION: election = "" } = settingsOf(type);
      const me = client.replace(".client_id", ".principal_id");
      for (const path of [election, `${election}.note`, `ticks/${election}/x`]) {
        expect([path, mayDo(me, { action: WRITE, path })]).toEqual([path, true]);
      }
      expect(mayDo(me, { action: WRITE, path: "another" })).toBe(false);
    },
  );
});
