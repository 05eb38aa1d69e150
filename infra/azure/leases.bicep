// Leases of Leasehold in an Azure blob container, and the rights of its candidates. The tests compare the settings with the Terraform
// module beside it, and so with LeaseContainer of @leasehold/infra-azure. It was never compiled or applied.

@description('The storage account: 3 to 24 lower-case letters and digits, unique in the world')
@minLength(3)
@maxLength(24)
param accountName string

param location string = resourceGroup().location

param containerName string = 'leases'

@description('The days after which occurrences of schedules are deleted, more than their retentionMs; null keeps them')
@minValue(1)
param deleteOccurrencesAfterDays int?

@description('The identities that compete, each once with all of its elections: letters, digits, hyphens and underscores')
param candidates candidate[] = []

type candidate = {
  principalId: string
  elections: string[]
}

var read = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read'
var write = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write'
var path = '@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path]'
// The blobs of its elections, their notes and their occurrences.
var conditions = [
  for each in candidates: join(
    [
      '('
      ' ('
      '  !(ActionMatches{\'${read}\'})'
      '  AND'
      '  !(ActionMatches{\'${write}\'})'
      ' )'
      ' OR'
      ' ('
      '  ${path} ForAnyOfAnyValues:StringEquals {${join(map(each.elections, name => '\'${name}\', \'${name}.note\''), ', ')}}'
      '  OR'
      '  ${path} ForAnyOfAnyValues:StringLike {${join(map(each.elections, name => '\'ticks/${name}/*\''), ', ')}}'
      ' )'
      ')'
    ],
    '\n'
  )
]

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: accountName
  location: location
  kind: 'StorageV2'
  sku: { name: 'Standard_ZRS' }
  properties: {
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    isLocalUserEnabled: false
    isSftpEnabled: false
    isHnsEnabled: false
  }

  resource blobs 'blobServices' = {
    name: 'default'
    properties: {
      isVersioningEnabled: false
      changeFeed: { enabled: false }
      deleteRetentionPolicy: { enabled: true, days: 7 }
      containerDeleteRetentionPolicy: { enabled: true, days: 7 }
    }

    resource leases 'containers' = {
      name: containerName
      properties: { publicAccess: 'None' }
    }
  }

  // Deletes occurrences of schedules, and nothing else. The slash at the end excludes the lease of an election called ticks.
  resource occurrences 'managementPolicies' = if (deleteOccurrencesAfterDays != null) {
    name: 'default'
    properties: {
      policy: {
        rules: [
          {
            name: 'leasehold-ticks'
            enabled: true
            type: 'Lifecycle'
            definition: {
              filters: { blobTypes: ['blockBlob'], prefixMatch: ['${containerName}/ticks/'] }
              actions: { baseBlob: { delete: { daysAfterModificationGreaterThan: deleteOccurrencesAfterDays! } } }
            }
          }
        ]
      }
    }
  }
}

// A lease that is deleted begins again at term 1.
resource lock 'Microsoft.Authorization/locks@2020-05-01' = {
  name: 'keep-leases'
  scope: account
  properties: { level: 'CanNotDelete' }
}

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(account.id, 'Leasehold Candidate')
  properties: {
    roleName: 'Leasehold Candidate (${accountName})'
    description: 'Competes in elections: reads and writes lease blobs, deletes nothing.'
    type: 'CustomRole'
    assignableScopes: [resourceGroup().id]
    permissions: [{ actions: [], dataActions: [read, write] }]
  }
}

resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (each, index) in candidates: {
    name: guid(account::blobs::leases.id, each.principalId, role.id)
    scope: account::blobs::leases
    properties: {
      principalId: each.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: role.id
      condition: conditions[index]
      conditionVersion: '2.0'
    }
  }
]

output accountUrl string = account.properties.primaryEndpoints.blob
