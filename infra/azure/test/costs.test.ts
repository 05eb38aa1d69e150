import * as exported from "@leasehold/infra-azure";
import { cost, HOURS, SECONDS, type Price } from "@leasehold/test-kit/costs/cost";
import { testCosts } from "@leasehold/test-kit/costs/page";
import { BLOB_OPERATION } from "@leasehold/test-kit/costs/request-prices";

const CONTAINERS = "https://azure.microsoft.com/pricing/details/container-apps/";
const MONITOR = "https://azure.microsoft.com/pricing/details/monitor/";

// Rates of active replicas. For an idle replica a processor costs an eighth.
const processor: Price = { of: "a processor of Container Apps", usd: 0.000024, source: CONTAINERS };
const memory: Price = { of: "memory of Container Apps", usd: 0.000003, source: CONTAINERS };
const logs: Price = { of: "logs that come in", usd: 2.76, source: MONITOR };
const logRule5: Price = { of: "a rule that looks into logs every 5 minutes", usd: 1.5, source: MONITOR };
const logRule15: Price = { of: "a rule that looks into logs every 15 minutes, or less often", usd: 0.5, source: MONITOR };
const execution: Price = {
  of: "a function's memory while it runs, on demand",
  usd: 0.000026,
  source: "https://azure.microsoft.com/pricing/details/functions/",
};

const nights = [30, "nights"] as const;
const replicas = [2, "replicas"] as const;

testCosts(
  {
    folder: "azure",
    region: "West Europe",
    seen: "as known on 2026-11-23; Azure's pages could not be read that day",
    constructs: {
      LeaseContainer: {
        makes:
          "a storage account without keys, in three zones, protected from deletion; a container; a role for each kind of grant",
        costs: [
          cost(BLOB_OPERATION, [720, "renewals an hour"], HOURS),
          cost(BLOB_OPERATION, [1, "standby"], [2_200, "polls an hour"], HOURS),
        ],
        rights: "nobody, until granted; a grant is for the blobs of the elections that it names; nobody may delete",
      },
      CandidateApp: {
        makes: "a Container App of 2 replicas without ingress, an identity",
        costs: [
          cost(processor, replicas, [0.25, "vCPU"], SECONDS),
          cost(memory, replicas, [0.5, "GiB"], SECONDS),
          cost(logs, replicas, [60, "lines an hour"], HOURS, [0.000001, "GB a line"]),
        ],
        rights: "its identity is a candidate in its elections",
      },
      LeaderScheduledFunction: {
        makes:
          "a Function App (Flex Consumption), a storage account for its platform, Application Insights, an identity; counted with a minute's work a night",
        costs: [cost(execution, nights, [60, "s"], [2, "GB"])],
        rights: "its identity is a candidate in its elections, may do everything in the platform's account, and sends telemetry",
      },
      ElectionAlerts: {
        makes: "two rules over logs",
        costs: [cost(logRule5, [1, "rule"]), cost(logRule15, [1, "rule"])],
        rights: "nobody",
      },
      RunAlerts: {
        makes: "two rules over logs",
        costs: [cost(logRule15, [2, "rules"])],
        rights: "nobody",
      },
    },
  },
  exported,
);
