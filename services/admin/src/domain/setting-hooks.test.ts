import { SETTING_CATALOGUE } from '@wharf/models';
import { describe, expect, it } from 'vitest';
import { findProblem } from './setting-hooks.ts';

const problemOf = (key: string, value: string) => {
  const definition = SETTING_CATALOGUE.find((each) => each.key === key);
  if (!definition) throw new Error(`no setting ${key}`);
  return findProblem(definition, value);
};

describe('findProblem', () => {
  it('accepts every factory value', () => {
    for (const definition of SETTING_CATALOGUE)
      expect([definition.key, findProblem(definition, definition.value)]).toEqual([definition.key, undefined]);
  });

  it.each([
    ['privacy_regs', 'a\n(', '( is illegal: missing closing ): `(`'],
    ['filename_char_mapping', '["/"]', 'must be a JSON object of texts'],
    ['filename_char_mapping', '{"/": 1}', 'must be a JSON object of texts'],
    ['filename_char_mapping', '', 'must be a JSON object of texts'],
    ['multipart_chunk_size', '0', 'multipart chunk size must be a positive integer (MB), got "0"'],
    ['multipart_chunk_size', '1.5', 'multipart chunk size must be a positive integer (MB), got "1.5"'],
    ['multipart_chunk_size', '', 'multipart chunk size must be a positive integer (MB), got ""'],
    ['iframe_previews', '{', 'must be JSON'],
    ['external_previews', 'x', 'must be JSON'],
    ['search_index', 'other', 'must be one of database,database_non_full_text,bleve,meilisearch,none'],
    ['pagination_type', 'some', 'must be one of all,pagination,load_more,auto_load_more'],
    ['default_page_size', 'many', 'must be a positive integer'],
    ['default_page_size', '0', 'must be a positive integer'],
    ['link_expiration', 'Infinity', 'must be a number of hours, 0 to 100000000'],
    ['link_expiration', '-1', 'must be a number of hours, 0 to 100000000'],
    ['link_expiration', '1e20', 'must be a number of hours, 0 to 100000000'],
    ['torrent_seedtime', '1.5', 'must be an integer'],
    ['torrent_seedtime', '1000000001', 'must be a number of minutes, 1000000000 at most; less than 0 never removes'],
    ['qbittorrent_seedtime', '999999999999999', 'must be a number of minutes, 1000000000 at most; less than 0 never removes'],
    ['transmission_seedtime', '9'.repeat(20), 'must be a number of minutes, 1000000000 at most; less than 0 never removes'],
    ['transmission_seedtime', '', 'must be an integer'],
    ['copy_task_threads_num', '0', 'must be a number from 1 to 999'],
    ['upload_task_threads_num', 'all', 'must be a number from 1 to 999'],
    ['max_index_depth', '', 'must be an integer'],
    ['sign_all', 'maybe', 'must be true or false'],
    ['favicon', 'javascript:alert(1)', 'must be an http or https address, or a path'],
    ['aria2_uri', 'localhost:6800', 'must be an http or https address'],
    ['torrent_url', 'ftp://localhost/', 'must be an http or https address'],
  ])('%s refuses %j', (key, value, reason) => {
    expect(problemOf(key, value)).toBe(reason);
  });

  it.each([
    ['link_expiration', '0.5'],
    ['link_expiration', '1e8'],
    ['search_index', 'database'],
    ['search_index', 'bleve'],
    ['torrent_seedtime', '-1'],
    ['qbittorrent_seedtime', '12'],
    ['transmission_seedtime', '1000000000'],
    ['move_task_threads_num', '12'],
    ['favicon', 'https://icons.example/a.ico'],
    ['favicon', '/a.ico'],
    ['favicon', ''],
    ['transmission_uri', ''],
    ['torrent_url', 'http://user:pass@host:8080/'],
    ['multipart_chunk_size', '32'],
    ['sso_login_platform', ''],
    ['sso_login_platform', 'OIDC'],
    ['iframe_previews', '{"pdf":{"Viewer":"/viewer?file=$e_url"}}'],
    ['privacy_regs', ''],
  ])('%s takes %j', (key, value) => {
    expect(problemOf(key, value)).toBeUndefined();
  });
});
