import { ConfigurationError } from "@leasehold/core";
import { disposable, type StoreSchemes } from "@leasehold/core/provider";
import { DynamoDBLeaseStore } from "./dynamodb-lease-store.ts";

/** Opens a {@link DynamoDBLeaseStore} by a URL such as `dynamodb://TABLE?region=eu-west-1`. The table must exist. */
export const fromUrl: StoreSchemes = {
  dynamodb: {
    parameters: ["region", "endpoint"],
    check({ authority, path }) {
      if (authority !== "" && path === "") return;
      throw new ConfigurationError("a URL of dynamodb: names a table: dynamodb://TABLE?region=eu-west-1.");
    },
    creation: ({ authority, parameters }) => [
      `aws dynamodb create-table --table-name ${authority} --billing-mode PAY_PER_REQUEST${regionOption(parameters)}` +
        " --attribute-definitions AttributeName=election,AttributeType=S AttributeName=entry,AttributeType=S" +
        " --key-schema AttributeName=election,KeyType=HASH AttributeName=entry,KeyType=RANGE",
    ],
    async open({ authority: tableName, parameters }) {
      const { DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
      const client = new DynamoDBClient(Object.fromEntries(parameters));
      return disposable(new DynamoDBLeaseStore({ client, tableName }), () => client.destroy());
    },
  },
};

function regionOption(parameters: ReadonlyMap<string, string>): string {
  const region = parameters.get("region");
  return region === undefined ? "" : ` --region ${region}`;
}
