import { ConfigurationError } from "@leasehold/core";
import type { DynamoDBLeaseStoreOptions } from "@leasehold/dynamodb";
import { loadProvider } from "./provider.ts";
import { disposable, type StoreKind } from "./store-kind.ts";

type Client = NonNullable<DynamoDBLeaseStoreOptions["client"]> & { destroy(): void };

/** The part of `@aws-sdk/client-dynamodb` that is used here. */
interface Sdk {
  readonly DynamoDBClient: new (settings: { readonly region?: string; readonly endpoint?: string }) => Client;
}

/** A DynamoDB table, which must exist. */
export const dynamodb: StoreKind = {
  example: "dynamodb://TABLE?region=eu-west-1",
  parameters: ["region", "endpoint"],
  check({ authority, path }) {
    if (authority !== "" && path === "") return;
    throw new ConfigurationError("a URL of dynamodb: names a table: dynamodb://TABLE?region=eu-west-1.");
  },
  creation: ({ authority, parameters }) => [
    `aws dynamodb create-table --table-name ${authority} --billing-mode PAY_PER_REQUEST${regionOf(parameters)}` +
      " --attribute-definitions AttributeName=election,AttributeType=S AttributeName=entry,AttributeType=S" +
      " --key-schema AttributeName=election,KeyType=HASH AttributeName=entry,KeyType=RANGE",
  ],
  async open({ authority: tableName, parameters }, place) {
    const { module, sdk } = await loadProvider<typeof import("@leasehold/dynamodb")>("@leasehold/dynamodb", place);
    const { DynamoDBClient } = (await sdk("@aws-sdk/client-dynamodb")) as Sdk;
    const client = new DynamoDBClient(Object.fromEntries(parameters));
    return disposable(new module.DynamoDBLeaseStore({ client, tableName }), () => client.destroy());
  },
};

function regionOf(parameters: ReadonlyMap<string, string>): string {
  const region = parameters.get("region");
  return region === undefined ? "" : ` --region ${region}`;
}
