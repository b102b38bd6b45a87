import { hostname } from 'node:os'

import { leaseOwner, processName, processOfOwner } from '@provost/core'
import { expect, test } from 'vitest'

test('the owner of a lease names its process, and differs from all others', () => {
  const owners = Array.from({ length: 100 }, leaseOwner)
  expect(new Set(owners).size).toBe(100)
  expect(new Set(owners.map(processOfOwner))).toEqual(new Set([processName()]))
  expect(processName()).toBe(`${hostname().replaceAll(/[^\w.-]/gu, '')}:${process.pid}`)
})

test('an owner of another form names no process', () => {
  for (const owner of ['', 'writer', 'failed/0190', '0190-aa', 'web-1/x', 'web-1:x/y', ':7/x', 'web-1:7']) {
    expect([owner, processOfOwner(owner)]).toEqual([owner, undefined])
  }
  expect(processOfOwner('web-1:7/x')).toBe('web-1:7')
})
