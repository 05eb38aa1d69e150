import type { ProviderFacts } from "@leasehold/test-kit/terrain";

/**
 * The facts of azapi about the arguments in use, by the documentation in its repository (docs/resources/resource.md). The
 * provider accepts any body, so the facts of a function app are from the model of @azure/arm-appservice 19.0.0. No registry of
 * packages has bindings of azapi for a comparison.
 */
export const azapi: ProviderFacts = {
  source: "Azure/azapi",
  version: "2.4.0",
  configuration: { subscription_id: "string" },
  resources: {
    azapi_resource: {
      arguments: {
        type: "required string",
        name: "string",
        parent_id: "string",
        location: "string",
        identity: { max: 1, block: { type: "required string", identity_ids: "list" } },
        body: {
          min: 1,
          max: 1,
          block: {
            kind: "string",
            properties: {
              max: 1,
              block: {
                serverFarmId: "string",
                httpsOnly: "bool",
                functionAppConfig: {
                  max: 1,
                  block: {
                    deployment: {
                      block: {
                        storage: {
                          block: {
                            type: "string",
                            value: "string",
                            authentication: { block: { type: "string", userAssignedIdentityResourceId: "string" } },
                          },
                        },
                      },
                    },
                    scaleAndConcurrency: { block: { maximumInstanceCount: "number", instanceMemoryMB: "number" } },
                    runtime: { block: { name: "string", version: "string" } },
                  },
                },
                siteConfig: { block: { appSettings: { block: { name: "string", value: "string" } } } },
              },
            },
          },
        },
      },
      exports: ["id"],
    },
  },
};
