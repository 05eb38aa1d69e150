import { BlobLeaseStore } from "@leasehold/azure-blob";
import { expect, test, vi } from "vitest";

vi.mock("@azure/identity", () => {
  throw new Error("Cannot find package '@azure/identity'");
});

test("without a credential and the package that finds one, the error says to install it, and nothing is sent", async () => {
  const store = new BlobLeaseStore({ accountUrl: "https://127.0.0.1:1", containerName: "leases" });
  await expect(store.read("e")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: "accountUrl without a credential needs the package @azure/identity: install it, or pass a credential.",
  });
});
