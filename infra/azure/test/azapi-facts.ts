import type { ProviderFacts } from "@leasehold/test-kit/terrain";

/**
 * What azapi says of the arguments that are used here, by the documentation in its repository (docs/resources/resource.md); and
 * what Azure's resource manager says of a function app, by the model of @azure/arm-appservice 19.0.0, since azapi takes any body.
 * No registry of packages has bindings of azapi to compare it with.
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
