import { expect, test } from 'vitest'

import { textOfHtml } from '../src/html.ts'

test('blocks become lines, tags vanish, entities are decoded', () => {
  expect(textOfHtml('<h1>Hi</h1><p>one<br>two &amp; <b>three</b></p><ul><li>a</li><li>b</li></ul>')).toBe(
    'Hi\n\none\ntwo & three\n\na\n\nb',
  )
  expect(textOfHtml('&#8364;&#x20ac;&euro;&nosuch;&#xd800;&Auml;&auml;')).toBe('€€€&nosuch;�Ää')
})

test('text that is not a tag stays text', () => {
  expect(textOfHtml('a < b and c > d, 1<2')).toBe('a < b and c > d, 1<2')
})

test('comments, scripts and styles are left out, even when they are never closed', () => {
  expect(textOfHtml('a<!-- b -->c<script>x < y</script>d<STYLE>p{}</STYLE>e')).toBe('acde')
  expect(textOfHtml('a<!-- b')).toBe('a')
  expect(textOfHtml('a<style>b')).toBe('a')
})

test('characters that change their length in lower case do not shift the text', () => {
  expect(textOfHtml('İİİ<style>hidden</style>İ')).toBe('İİİİ')
})

test('hostile input costs linear time', () => {
  const bombs = ['<', '<a', '<!--', '<style>', '< >', '&#', '\u00a0 ', '<a <b >']
  const most = process.env['PROVOST_TEST_FULL'] === '1' ? 200_000 : 50_000
  // Quadratic work on these would take minutes.
  for (const bomb of bombs) expect(textOfHtml(bomb.repeat(most)).length).toBeLessThan(2_000_000)
})
